"""How rows are written in files: layouts, records, times; and drafts of scripts from what files hold."""
