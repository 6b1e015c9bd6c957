CREATE TABLE "model_prices" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"model" text NOT NULL,
	"input_usd" numeric(16, 9) NOT NULL,
	"output_usd" numeric(16, 9) NOT NULL,
	"cached_usd" numeric(16, 9),
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "cost_events" ADD COLUMN "price_estimated" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "model_prices" ADD CONSTRAINT "model_prices_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "model_prices_model" ON "model_prices" USING btree ("company_id","model");--> statement-breakpoint
CREATE INDEX "model_prices_company" ON "model_prices" USING btree ("company_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);