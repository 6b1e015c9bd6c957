CREATE TABLE "event_cursors" (
	"consumer" text NOT NULL,
	"name" text NOT NULL,
	"seq" bigint NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "event_cursors_consumer_name_pk" PRIMARY KEY("consumer","name")
);
