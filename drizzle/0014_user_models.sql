CREATE TABLE "user_models" (
	"company_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"body_markdown" text NOT NULL,
	"updated_by_agent_id" uuid,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "user_models_company_id_user_id_pk" PRIMARY KEY("company_id","user_id")
);
--> statement-breakpoint
ALTER TABLE "user_models" ADD CONSTRAINT "user_models_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_models" ADD CONSTRAINT "user_models_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "user_models_user" ON "user_models" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "notes_named" ON "notes" USING btree ("company_id",lower("title")) WHERE "notes"."deleted_at" is null;