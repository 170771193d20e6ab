"""`penstock` with a checkpoint after every few journal entries, so that kills meet checkpoints and retention."""

from penstock.__main__ import main
from penstock.storage import store

store._CHECKPOINT_ENTRIES = 10
store._CHECKPOINT_SHARE = 1.0

if __name__ == "__main__":
    main()
