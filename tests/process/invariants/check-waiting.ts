/** Everything that waits, and the admissible reasons. */
import { isLive } from './facts.ts';
import type { AgentFact, Facts, IssueFact, RunFact, WakeupFact } from './facts.ts';

/** Same as `MAX_STALLED_RUNS` and `MAX_WAKE_DEPTH` of decisions 8.2. */
const STALLED = 5;
const DEEPEST = 12;
const WAKEABLE = ['idle', 'active', 'running', 'error'];

/** 4. Every pending wakeup has a job or an admissible reason to wait; so has every queued run. */
export function checkWaiting(facts: Facts): string[] {
  const wakeups = facts.wakeups
    .filter((wakeup) => whyWakeupWaits(facts, wakeup) === undefined)
    .map(
      ({ id, agent_id, issue_id }) => `wakeup ${id} (agent ${agent_id}, issue ${issue_id}) waits for nothing`,
    );
  const startable = facts.runs.filter(
    (run) => run.status === 'queued' && whyRunWaits(facts, run) === undefined,
  );
  // A job executes the fairest run, which may differ from the one it was created for, so jobs are only counted.
  const jobs = facts.jobs.filter(({ name }) => name === 'execute-run').length;
  const idle = startable.filter(
    ({ agent_id }) => !facts.jobs.some((job) => job.name === 'dispatch-agent' && job.agent_id === agent_id),
  );
  const runs = idle.slice(jobs).map(({ id }) => `run ${id} is queued and could start, and has no job`);
  return [...wakeups, ...runs];
}

/** The reason for a pending wakeup not to run now; undefined: there is none. */
export function whyWakeupWaits(facts: Facts, wakeup: WakeupFact): string | undefined {
  const agent = facts.agents.find(({ id }) => id === wakeup.agent_id);
  const issue = facts.issues.find(({ id }) => id === wakeup.issue_id);
  if (agent === undefined) return undefined;
  const hasJob = facts.jobs.some((job) => job.name === 'dispatch-agent' && job.agent_id === agent.id);
  if (hasJob) return 'it has a job';
  const bound = facts.runs.find(({ id }) => id === wakeup.run_id);
  if (bound?.status === 'queued') return 'a queued run will take it';
  const held = whyNobodyStarts(facts, agent, issue?.project_id ?? null);
  if (held !== undefined) return held;
  const live = facts.runs.filter(isLive);
  const own = live.filter(({ agent_id }) => agent_id === agent.id);
  if (own.length >= agent.max_concurrent_runs) return 'the agent is busy';
  if (issue === undefined) return own.length > 0 ? 'the agent is at work already' : undefined;
  return whyIssueWaits(issue, agent, wakeup, live);
}

function whyIssueWaits(
  issue: IssueFact,
  agent: AgentFact,
  { depth }: WakeupFact,
  live: readonly RunFact[],
): string | undefined {
  if (live.some(({ issue_id }) => issue_id === issue.id)) return 'the issue has a run';
  const holder = issue.checked_out_by_agent_id;
  if (holder !== null && holder !== agent.id) return 'another agent holds the issue';
  if (depth > DEEPEST) return 'too many agents have woken each other in a row';
  if (depth > 0 && issue.stalled_runs >= STALLED) return 'the issue needs human attention';
  return undefined;
}

/** The same for a queued run. */
export function whyRunWaits(facts: Facts, run: RunFact): string | undefined {
  const agent = facts.agents.find(({ id }) => id === run.agent_id);
  if (agent === undefined) return undefined;
  const issue = facts.issues.find(({ id }) => id === run.issue_id);
  const held = whyNobodyStarts(facts, agent, issue?.project_id ?? null);
  if (held !== undefined) return held;
  const running = facts.runs.filter(({ agent_id, status }) => agent_id === agent.id && status === 'running');
  return running.length >= agent.max_concurrent_runs ? 'the agent is busy' : undefined;
}

/** The reason that blocks all runs of the agent. */
function whyNobodyStarts(facts: Facts, agent: AgentFact, project_id: string | null): string | undefined {
  if (facts.runs_paused) return 'runs are paused on the instance';
  const scopes = [facts.company_id, agent.id, project_id];
  if (facts.held_scopes.some((id) => scopes.includes(id))) return 'a budget is exceeded';
  if (!WAKEABLE.includes(agent.status)) return `the agent is ${agent.status}`;
  return undefined;
}

/** After everything that blocked work was removed: no agent is paused any more, unless a budget has been exhausted since. */
export function checkLetGo({ company_id, agents, held_scopes }: Facts): string[] {
  return agents
    .filter(
      ({ id, status }) => status === 'paused' && !held_scopes.some((each) => [company_id, id].includes(each)),
    )
    .map(({ name }) => `agent ${name} is still paused`);
}
