/**
 * What a program receives about its task (specification, Task payload fields): a remote worker, a container, a cloud function.
 * Unlike in API responses, fields without data are omitted, so that older workers keep working.
 */
import { Type, type Static } from 'typebox';
import { JsonObject, Uuid } from './schema-kit.ts';

const Optional = Type.Optional;
const Strings = Type.Array(Type.String());

const TimelineEntry = Type.Object({
  type: Type.Union([Type.Literal('comment'), Type.Literal('activity')]),
  author_name: Type.String(),
  body: Optional(Type.String()),
  /** For activities: `issue.updated`. */
  kind: Optional(Type.String()),
  payload: Optional(JsonObject),
});
export type TimelineEntry = Static<typeof TimelineEntry>;

const TaskAttachment = Type.Object({
  id: Type.String(),
  filename: Type.String(),
  content_type: Type.String(),
  size_bytes: Type.Integer(),
  /** `pending`: the text is being extracted. `none`: there is nothing to extract. */
  text_status: Type.String(),
  /** The beginning of the text. */
  text: Optional(Type.String()),
  /** Length of the whole text in characters. */
  text_length: Optional(Type.Integer()),
});

const TaskIssue = Type.Object({
  id: Type.String(),
  identifier: Type.String(),
  title: Type.String(),
  status: Type.String(),
  priority: Type.String(),
  body_markdown: Type.String(),
  project_name: Optional(Type.String()),
  /** Sorted alphabetically. */
  labels: Optional(Strings),
  timeline: Optional(Type.Array(TimelineEntry)),
  /** The newest ones, oldest first. */
  attachments: Optional(Type.Array(TaskAttachment)),
});

export const TaskPayload = Type.Object({
  /** Names folders and processes of workers. */
  run_id: Uuid,
  agent_id: Uuid,
  agent_name: Type.String(),
  agent_role: Type.String(),
  manager_name: Optional(Type.String()),
  manager_role: Optional(Type.String()),
  company_id: Uuid,
  company_name: Type.String(),
  adapter_type: Type.String(),
  /** As configured: secrets stay references. */
  adapter_config: JsonObject,
  system_prompt: Type.String(),
  wake_reason: Type.String(),
  issue: Optional(TaskIssue),
  /** For routing roles. */
  roster: Optional(
    Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        role: Type.String(),
        title: Optional(Type.String()),
        description: Optional(Type.String()),
      }),
    ),
  ),
  session_id: Optional(Type.String()),
  session_cwd: Optional(Type.String()),
  /** Absent: the worker decides. */
  allow_dangerous_permissions: Optional(Type.Boolean()),
  skills: Optional(Type.Array(JsonObject)),
  project_repo_url: Optional(Type.String()),
  project_id: Optional(Type.String()),
  project_file_backend: Optional(Type.String()),
  project_module_endpoint: Optional(Type.String()),
  /** Created at the claim and never stored, like the run's key. */
  project_module_token: Optional(Type.String()),
  service_api_key: Optional(Type.String()),
  service_base_url: Optional(Type.String()),
  knowledge: Optional(Type.Array(JsonObject)),
  compiled_index: Optional(Type.String()),
  full_context: Optional(Type.Literal(true)),
  /** With `full_context`: the agent's permissions, by key, and further lists; those that are empty are left out. */
  capabilities: Optional(Strings),
  comments: Optional(Type.Array(JsonObject)),
  activities: Optional(Type.Array(TimelineEntry)),
  children: Optional(Type.Array(JsonObject)),
  wake: Optional(Type.Array(JsonObject)),
  egress_allowlist: Optional(Strings),
  egress_proxy: Optional(Type.String()),
  egress_dns_addr: Optional(Type.String()),
});
export type TaskPayload = Static<typeof TaskPayload>;
