"""Selection: the most frequent candidates, or those above a threshold."""
