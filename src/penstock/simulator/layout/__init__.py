"""From a network and a policy to the flat arrays that compiled code works on."""
