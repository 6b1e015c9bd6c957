import type { PromptAttachment } from '../attachments/index.ts';
import type { SkillOutline } from '../skills/index.ts';

/** Everything that the prompt of a run is made of, as read in one go at its start. Instants are RFC 3339 strings. */
export interface PromptFacts {
  agent: PromptAgent;
  manager: { name: string; role: string } | null;
  company: { id: string; name: string };
  /** The company has written something down: the search is worth its statements. */
  has_knowledge: boolean;
  /** A page of what the company knows is promoted. */
  has_index: boolean;
  /** The issue's goal, else its project's, then upward: nearest first. */
  goals: { title: string; description: string | null; level: string; status: string }[];
  project: { name: string; description: string | null; repo_url: string | null } | null;
  issue: PromptIssue | null;
  /** What woke the agent, oldest first. */
  wakeups: { reason: string; payload: Record<string, unknown>; created_at: string }[];
  /** What took effect of the attempts at this work since one last succeeded, in order: it must not be done again. */
  applied_by_interrupted: PromptAction[];
  /** Verbs that failed in the agent's last run on this issue. */
  failed_in_previous_run: PromptAction[];
  /** Texts that the agent may read, at most 100, by slug. */
  skills: SkillOutline[];
  /** The user who asks for the issue, with what agents have written down of him or her. */
  requester: { name: string; user_model: string | null } | null;
  /** Those that the agent has spawned for this issue, and those below them, the oldest first; the newest 60. */
  subagents: PromptSubagent[];
  /** Who spawned the agent, where it is a sub-agent. */
  spawned_by: { name: string; depth: number } | null;
  /** Colleagues, for routing roles (ceo, pm, triage) only. */
  roster: { id: string; name: string; role: string; title: string | null; description: string | null }[];
}

export interface PromptSubagent {
  name: string;
  role: string;
  depth: number;
  identifier: string;
  title: string;
  /** Of its issue. */
  status: string;
  /** Null while it lives. */
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
  /** Of the company, for agents that name no provider; null where it has none; absent: not looked for yet. */
  default_provider_id?: string | null;
  model: string | null;
}

export interface PromptIssue extends IssueReference {
  priority: string;
  /** Cut to 20,000 characters. */
  body_markdown: string | null;
  awaiting_input: boolean;
  /** A client of the agent-to-agent protocol sent it and reads what agents say. */
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
  /** Of the issue that a sub-agent was spawned for, likewise. */
  parent_attachments: PromptAttachment[];
  /** Texts of new files are being extracted; a run may wait some seconds for them. */
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
