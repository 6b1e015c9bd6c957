/** Input of the invariant checks: rows of the database, and outside observations. Times in ms. */

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
  /** 0 until it is claimed; the claim and the end add one each. */
  fence: number;
  cost_usd: number;
  started_at: number | null;
  finished_at: number | null;
}

/** A pending wakeup. */
export interface WakeupFact {
  id: string;
  agent_id: string;
  issue_id: string | null;
  run_id: string | null;
  depth: number;
}

/** An unfinished job: waiting, to be retried, or taken by a process that may be dead. */
export interface JobFact {
  name: string;
  agent_id: string | null;
}

export interface ActionFact {
  run_id: string;
  ordinal: number;
  verb: string;
  ok: boolean;
  /** False for verbs that only read. */
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
  /** Companies, projects and agents with an open breach that blocks their runs. */
  held_scopes: string[];
  agents: AgentFact[];
  issues: IssueFact[];
  runs: RunFact[];
  wakeups: WakeupFact[];
  jobs: JobFact[];
  actions: ActionFact[];
  /** Titles and bodies of issues, comments and notes. */
  written: string[];
  /** Run ids, one for each event that reports a start. */
  started: string[];
  ended: string[];
  /** Transcript entries: the prompt of a turn, and the final status (turn 0). */
  prompts: { run_id: string; turn: number }[];
  final_entries: string[];
  /** Policies that pause, with their current window. */
  policies: PolicyFact[];
  reservations: { policy_id: string; run_id: string }[];
  costs: { at: number; cost_usd: number; scopes: string[] }[];
}

/** A request in the model's journal. */
export interface Call {
  n: number;
  /** Names as in the prompt. */
  agent: string;
  issue: string | null;
  /** Starts at 1. */
  turn: number;
  /** The call whose answer this turn continues from. */
  parent: number | null;
  at: number;
  /** A complete, successful answer was sent. */
  answered: boolean;
  /** Its maximum possible cost, and the cost that its answer reported. */
  most_usd: number;
  cost_usd: number;
}

/** A start of a CLI agent's program. */
export interface ProgramCall {
  run_id: string;
  /** The program did not know its session: the run starts over, once. */
  forgotten: boolean;
}

export const isLive = ({ status }: Pick<RunFact, 'status'>): boolean =>
  status === 'queued' || status === 'running';
