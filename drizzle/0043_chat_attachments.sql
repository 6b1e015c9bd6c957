ALTER TABLE "attachments" ALTER COLUMN "issue_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "chat_messages" ADD COLUMN "attachments" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "attachments" ADD COLUMN "chat_message_id" uuid;--> statement-breakpoint
ALTER TABLE "attachments" ADD CONSTRAINT "attachments_chat_message_id_chat_messages_id_fk" FOREIGN KEY ("chat_message_id") REFERENCES "public"."chat_messages"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "attachments_chat_message" ON "attachments" USING btree ("chat_message_id") WHERE "attachments"."chat_message_id" is not null;--> statement-breakpoint
ALTER TABLE "attachments" ADD CONSTRAINT "attachments_one_place" CHECK (("attachments"."issue_id" is null) <> ("attachments"."chat_message_id" is null));--> statement-breakpoint
-- Chats are private: what is attached to their messages is no source of knowledge.
create or replace function knowledge_of_attachment() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform knowledge_gone('attachment', old.attachment_id);
  elsif new.status = 'done' then
    perform knowledge_changed('attachment', f.id, f.company_id, f.issue_id)
      from attachments f where f.id = new.attachment_id and f.issue_id is not null;
  elsif tg_op = 'UPDATE' and old.status = 'done' then
    perform knowledge_gone('attachment', new.attachment_id);
  end if;
  return null;
end $$;
