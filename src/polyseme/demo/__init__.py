"""What `polyseme demo` shows: two meanings of a word, its neighbours and its substitutes, as text, picture and page."""
