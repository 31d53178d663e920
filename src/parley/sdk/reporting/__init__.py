"""What came of it, for terminals, JUnit readers, pull requests and annotations."""
