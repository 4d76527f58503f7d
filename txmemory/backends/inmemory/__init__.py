"""The backend that keeps everything in this process: one state, the shared guard, one lock."""
