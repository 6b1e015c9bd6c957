/** What the checks of the invariants look at: rows of the database, and what was seen outside of it. Times in ms. */

export interface AgentFact {
  id: string;
  name: string;
  status: string;
  max_concurrent_runs: number;
}

export interface IssueFact {
  id: string;
  identifier: string;
  project_id: string | null;
  stalled_runs: number;
  checked_out_by_agent_id: string | null;
  checkout_run_id: string | null;
}

export interface RunFact {
  id: string;
  agent_id: string;
  issue_id: string | null;
  status: string;
  error: string | null;
  error_category: string | null;
  retry_of_run_id: string | null;
  /** 0 as long as nobody has claimed it; the claim and the end add one each. */
  fence: number;
  cost_usd: number;
  started_at: number | null;
  finished_at: number | null;
}

/** A pending one. */
export interface WakeupFact {
  id: string;
  agent_id: string;
  issue_id: string | null;
  run_id: string | null;
  depth: number;
}

/** One that is not done: waiting, to be repeated, or in the hands of a process that may be dead. */
export interface JobFact {
  name: string;
  agent_id: string | null;
}

export interface ActionFact {
  run_id: string;
  ordinal: number;
  verb: string;
  ok: boolean;
  /** Not of those that only read. */
  mutating: boolean;
  /** The arguments as JSON. */
  args: string;
}

export interface PolicyFact {
  id: string;
  /** Company, project or agent. */
  scope_id: string;
  spent_usd: number;
  reserved_usd: number;
}

export interface Facts {
  company_id: string;
  runs_paused: boolean;
  /** Companies, projects and agents with an open breach that holds their runs back. */
  held_scopes: string[];
  agents: AgentFact[];
  issues: IssueFact[];
  runs: RunFact[];
  wakeups: WakeupFact[];
  jobs: JobFact[];
  actions: ActionFact[];
  /** Titles and bodies of issues, comments and notes. */
  written: string[];
  /** Ids of runs, one for each event that says so. */
  started: string[];
  ended: string[];
  /** Transcript entries: the prompt of a turn, and the final status (turn 0). */
  prompts: { run_id: string; turn: number }[];
  final_entries: string[];
  /** Those that pause, with the window of now. */
  policies: PolicyFact[];
  reservations: { policy_id: string; run_id: string }[];
  costs: { at: number; cost_usd: number; scopes: string[] }[];
}

/** A request of the model's journal. */
export interface Call {
  n: number;
  /** Names, as the prompt has them. */
  agent: string;
  issue: string | null;
  /** From 1. */
  turn: number;
  /** The call whose answer the turn goes on from. */
  parent: number | null;
  at: number;
  /** A whole, good answer was sent. */
  answered: boolean;
  /** What it may have cost at most, and what its answer said that it did. */
  most_usd: number;
  cost_usd: number;
}

/** A start of the program of a CLI agent. */
export interface ProgramCall {
  run_id: string;
  /** The program did not know its session: the run begins afresh, once. */
  forgotten: boolean;
}

export const isLive = ({ status }: Pick<RunFact, 'status'>): boolean =>
  status === 'queued' || status === 'running';
