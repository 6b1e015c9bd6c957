/**
 * The job catalogue: everything triggered by an event that runs off the request path. Each job has a handler file of the same
 * name in the scheduler; startup and a test check that catalogue and handlers match. A job carries ids only: its handler
 * reads the current state, and finding the work already done counts as success.
 */
import { Type, type Static, type TSchema } from 'typebox';
import { Nullable, Uuid } from './schema-kit.ts';
import { createValidator, type Validator } from './validator.ts';

export interface JobRow {
  /** Ids only. */
  payload: TSchema;
  /** Maximum number of retries of a failed or expired attempt. */
  retry_limit: number;
  retry_delay_sec: number;
  /** Doubles the delay with each attempt, with jitter. */
  retry_backoff: boolean;
  /** An attempt that takes longer counts as lost: its handler's signal aborts and the job is retried. */
  expire_sec: number;
  /** The queue for jobs that failed for good. */
  dead_letter?: string;
  /** A table of its own for a busy queue: fetches stay fast however full the others are. */
  partition?: boolean;
  /** The sweep or timer that recovers the work of a lost job. */
  sweep: string;
  doc: string;
}

const rows = {
  'dispatch-agent': {
    payload: Type.Object({ agent_id: Uuid }),
    retry_limit: 4,
    retry_delay_sec: 1,
    retry_backoff: true,
    expire_sec: 60,
    partition: true,
    sweep: 'wakeups: pending ones of idle agents are dispatched again',
    doc: 'Admits the runs an agent should have now: for its pending wakeups first, then for its actionable issues.',
  },
  'execute-run': {
    payload: Type.Object({ run_id: Uuid }),
    retry_limit: 4,
    retry_delay_sec: 1,
    retry_backoff: true,
    expire_sec: 60,
    partition: true,
    sweep: 'runs: queued ones without a claim are offered again, lapsed leases are finished and retried',
    doc: 'Signals a queued run; the handler claims the fairest one and is done once it is claimed.',
  },
  'settle-agent': {
    payload: Type.Object({ agent_id: Uuid }),
    retry_limit: 8,
    retry_delay_sec: 2,
    retry_backoff: true,
    expire_sec: 120,
    sweep:
      'agents: those that ended lately and still hold a live run, a checkout or a pending wakeup are settled again',
    doc: 'Ends what a trashed or terminated agent left behind: live runs, checkouts, pending wakeups.',
  },
  'settle-company': {
    payload: Type.Object({ company_id: Uuid }),
    retry_limit: 8,
    retry_delay_sec: 2,
    retry_backoff: true,
    expire_sec: 300,
    sweep: 'companies: trashed ones whose agents still hold live runs or keys are settled again',
    doc: 'Ends what runs in a trashed company: live runs, pending wakeups, agent keys.',
  },
  'settle-issue': {
    payload: Type.Object({ issue_id: Uuid }),
    retry_limit: 8,
    retry_delay_sec: 2,
    retry_backoff: true,
    expire_sec: 120,
    sweep: 'runs: the claim refuses queued runs of trashed issues, the lease renewal cancels running ones',
    doc: 'Ends what a trashed issue left behind, and all below it: live runs, pending wakeups.',
  },
  'wake-snoozed': {
    payload: Type.Union([
      Type.Object({ issue_id: Uuid, reader_id: Uuid }),
      Type.Object({ approval_id: Uuid, reader_id: Uuid }),
    ]),
    retry_limit: 2,
    retry_delay_sec: 5,
    retry_backoff: true,
    expire_sec: 30,
    sweep:
      'none is needed: the inbox reads the time itself, and without the job only pages that are open hear later',
    doc: 'Notifies a person’s pages that the snooze of an issue or an approval has ended.',
  },
  'settle-subagents': {
    payload: Type.Object({ agent_id: Uuid }),
    retry_limit: 8,
    retry_delay_sec: 1,
    retry_backoff: true,
    expire_sec: 120,
    sweep:
      'subagents: trees in which a sub-agent has nothing left to do, or nobody is left to wait for, are settled again',
    doc: 'Ends a tree’s sub-agents whose work is done, and wakes agents whose last sub-agent has finished. The agent is any one in the tree.',
  },
  'advance-council': {
    payload: Type.Object({ session_id: Uuid }),
    retry_limit: 8,
    retry_delay_sec: 1,
    retry_backoff: true,
    expire_sec: 120,
    sweep: 'councils: running ones without a turn under way, or whose issue is over, are moved on',
    doc: 'Advances a council after a turn: the next round, the ranking, the conclusion.',
  },
  'advance-compile': {
    payload: Type.Object({ index_id: Uuid }),
    retry_limit: 8,
    retry_delay_sec: 1,
    retry_backoff: true,
    expire_sec: 120,
    sweep: 'compiles: compilations without a portion under way are moved on',
    doc: 'Advances the compilation of an index after a batch: the next one, or the draft.',
  },
  'advance-evolution': {
    payload: Type.Object({ evolution_id: Uuid }),
    retry_limit: 8,
    retry_delay_sec: 1,
    retry_backoff: true,
    expire_sec: 120,
    sweep: 'evolutions: running ones without a step under way are moved on',
    doc: 'Advances a prompt evolution after a step: the next rollouts, the judge, a reflection, the end.',
  },
  'answer-password-reset': {
    payload: Type.Object({ request_id: Uuid }),
    retry_limit: 8,
    retry_delay_sec: 2,
    retry_backoff: true,
    expire_sec: 60,
    sweep: 'password-resets: requests that nobody has answered for a minute are offered again',
    doc: 'Checks whether an account has the entered address and sends it the link, off the request path, so that timing reveals nothing.',
  },
  'extract-text': {
    payload: Type.Object({ attachment_id: Uuid }),
    retry_limit: 2,
    retry_delay_sec: 10,
    retry_backoff: true,
    expire_sec: 120,
    sweep: 'attachments: texts that stay pending are asked for again, those whose reader ended wait again',
    doc: 'Signals a text to extract; the handler claims one of the next company in turn and extracts it in a sandboxed process.',
  },
  'apply-approval': {
    payload: Type.Object({ approval_id: Uuid }),
    retry_limit: 4,
    retry_delay_sec: 2,
    retry_backoff: true,
    expire_sec: 120,
    sweep: 'approvals: approved ones that are neither applied nor failed after a minute are applied again',
    doc: 'Carries out an approved `hire_agent` or `install`, once.',
  },
  'settle-budgets': {
    payload: Type.Object({ company_id: Uuid }),
    retry_limit: 8,
    retry_delay_sec: 2,
    retry_backoff: true,
    expire_sec: 120,
    sweep: 'budgets: agents whose pause and whose open breaches disagree are settled again',
    doc: 'Pauses and resumes a company’s agents according to its budgets, dispatches what was refused in the meantime, and wakes those whose work was cut off.',
  },
  'apply-remote-result': {
    payload: Type.Object({ task_id: Uuid }),
    // A scheduler that died while handling the result keeps its run until the lease expires.
    retry_limit: 8,
    retry_delay_sec: 2,
    retry_backoff: true,
    expire_sec: 300,
    sweep: 'results: tasks that were completed a minute ago and whose run still waits are applied again',
    doc: 'Applies a remote worker’s result, starting with the first verb not yet recorded, and ends its run.',
  },
  'act-on-workspace': {
    payload: Type.Object({ action_id: Uuid }),
    retry_limit: 2,
    retry_delay_sec: 10,
    retry_backoff: true,
    expire_sec: 900,
    sweep: 'workspace-actions: queued ones, and those whose scheduler let go, are offered again',
    doc: 'Pushes a workspace’s branch, opens its pull request or merges it, at a person’s request.',
  },
  'look-at-pull-request': {
    payload: Type.Object({ workspace_id: Uuid }),
    retry_limit: 3,
    retry_delay_sec: 10,
    retry_backoff: true,
    expire_sec: 120,
    sweep:
      'pull-requests: open ones are looked at every now and then; one that others opened is found by its next webhook',
    doc: 'Fetches the pull request of a workspace’s branch after its host’s webhook reported a change.',
  },
  'run-command': {
    /** The company that it is for: each has a part of the places. */
    payload: Type.Object({ command_id: Uuid, company_id: Type.Optional(Nullable(Uuid)) }),
    retry_limit: 2,
    retry_delay_sec: 1,
    retry_backoff: false,
    expire_sec: 60,
    sweep: 'commands: none is started after its deadline; its caller has been told by then',
    doc: 'Runs an awaited command (decisions 6) and stores its result for the waiting request.',
  },
} as const satisfies Record<string, JobRow>;

export type JobName = keyof typeof rows;
export type JobPayload<N extends JobName> = Static<(typeof rows)[N]['payload']>;

export const jobCatalogue: Readonly<Record<JobName, JobRow>> = rows;
export const jobNames: readonly JobName[] = Object.keys(rows).filter(isJobName);

function isJobName(name: string): name is JobName {
  return Object.hasOwn(rows, name);
}

const validators = new Map<JobName, Validator<unknown>>();

function assertPayload<N extends JobName>(name: N, payload: unknown): asserts payload is JobPayload<N> {
  let validate = validators.get(name);
  if (validate === undefined) {
    validate = createValidator<TSchema>(rows[name].payload, 'job payload');
    validators.set(name, validate);
  }
  validate(payload);
}

/** Throws `invalid`. Payloads from the queue are parsed, not cast. */
export function parseJobPayload<N extends JobName>(name: N, payload: unknown): JobPayload<N> {
  assertPayload(name, payload);
  return payload;
}
