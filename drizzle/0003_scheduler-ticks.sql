CREATE TABLE "scheduler_ticks" (
	"scheduler" text NOT NULL,
	"worker" text NOT NULL,
	"ticks" integer NOT NULL,
	"errors" integer NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "scheduler_ticks_scheduler_worker_pk" PRIMARY KEY("scheduler","worker")
);
