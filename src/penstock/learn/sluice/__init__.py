"""Our own method for item sets: whichever way suits the universe and the number of sets."""
