"""Template of a paper's folder: `bentpipe reproduce --new` copies it unchanged."""
