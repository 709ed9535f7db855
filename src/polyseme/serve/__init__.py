"""polyseme over HTTP: an API for programs, and the explorer page for people.

request ─ connection ─ guard ─ endpoint ─► worker: what waits is asked together ─► answer
          slow clients  token   fields      one thread, bounded queue
"""
