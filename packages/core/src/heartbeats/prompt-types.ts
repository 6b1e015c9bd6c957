import type { PromptAttachment } from '../attachments/index.ts';
import type { Requester } from '../knowledge/index.ts';
import type { SkillOutline } from '../skills/index.ts';

/** Everything that a run's prompt is built from, read in one go at its start. Times are RFC 3339 strings. */
export interface PromptFacts {
  agent: PromptAgent;
  manager: { name: string; role: string } | null;
  company: { id: string; name: string };
  /** The company has written something down: the search is worth its statements. */
  has_knowledge: boolean;
  /** An index page of the company's knowledge is promoted. */
  has_index: boolean;
  /** The issue's goal, otherwise its project's, then its ancestors: nearest first. */
  goals: { title: string; description: string | null; level: string; status: string }[];
  project: { name: string; description: string | null; repo_url: string | null } | null;
  issue: PromptIssue | null;
  /** The wakeups of the run, oldest first. */
  wakeups: { reason: string; payload: Record<string, unknown>; created_at: string }[];
  /** The effects of all attempts at this work since one last succeeded, in order: they must not be repeated. */
  applied_by_interrupted: PromptAction[];
  /** Verbs that failed in the agent's last run on this issue. */
  failed_in_previous_run: PromptAction[];
  /** Skills that the agent may read, at most 100, by slug. */
  skills: SkillOutline[];
  /** The user who requested the issue, with what agents have noted about them. */
  requester: Requester | null;
  /** Sub-agents that the agent has spawned for this issue, and their descendants, oldest first; the newest 60. */
  subagents: PromptSubagent[];
  /** The agent that spawned this one, if it is a sub-agent. */
  spawned_by: { name: string; depth: number } | null;
  /** Colleagues, for routing roles (ceo, pm, triage) only. */
  roster: { id: string; name: string; role: string; title: string | null; description: string | null }[];
}

interface PromptSubagent {
  name: string;
  role: string;
  depth: number;
  identifier: string;
  title: string;
  /** Status of its issue. */
  status: string;
  /** Null while it is active. */
  outcome: string | null;
  /** Cut to 20,000 characters. */
  result: string | null;
}

export interface PromptAgent {
  id: string;
  name: string;
  role: string;
  title: string | null;
  description: string | null;
  system_prompt: string | null;
  adapter_type: string;
  adapter_config: Record<string, unknown>;
  provider_id: string | null;
  /** The company's default, for agents that name no provider; null if there is none; absent: not looked up yet. */
  default_provider_id?: string | null;
  model: string | null;
}

export interface PromptIssue extends IssueReference {
  priority: string;
  /** Cut to 20,000 characters. */
  body_markdown: string | null;
  awaiting_input: boolean;
  /** It was sent by a client of the agent-to-agent protocol, which reads what agents write. */
  from_client: boolean;
  needs_routing: boolean;
  /** Sorted alphabetically. */
  labels: string[];
  parent: IssueReference | null;
  children: IssueReference[];
  relations: (IssueReference & {
    relation: 'blocks' | 'blocked_by' | 'depends_on' | 'dependency_of' | 'relates_to';
  })[];
  /** The newest 30, oldest first; texts cut to 4,000 characters. */
  comments: { author_name: string; body_markdown: string; created_at: string }[];
  comment_count: number;
  /** The newest 20, oldest first. */
  attachments: PromptAttachment[];
  /** The same for the issue that a sub-agent was spawned for. */
  parent_attachments: PromptAttachment[];
  /** Text is being extracted from new files; a run may wait a few seconds for it. */
  texts_awaited: boolean;
  attachment_count: number;
}

interface IssueReference {
  id: string;
  identifier: string;
  title: string;
  status: string;
  assignee_name: string | null;
}

export interface PromptAction {
  ordinal: number;
  verb: string;
  args: Record<string, unknown>;
  result: string | null;
  error: string | null;
}
