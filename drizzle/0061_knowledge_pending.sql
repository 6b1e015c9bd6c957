-- What has come since the last vacuum is read in full by every search, and the planner fears it: 32 pages of it, not 512.
alter index knowledge_chunks_text set (gin_pending_list_limit = 256);--> statement-breakpoint
alter index knowledge_chunks_heading set (gin_pending_list_limit = 256);
