import type { ProviderFamily } from '@acp/contract';
import type { EgressPlace } from './sandbox/egress-place.ts';
import type { Reach } from './sandbox/reach.ts';

export interface ProviderSpec {
  family: ProviderFamily;
  /** For `family_cloud` the JSON credentials blob. */
  api_key: string | null;
  /** Null: the vendor's own. Required for `family_compat`. */
  base_url: string | null;
  custom_headers?: Record<string, string>;
  /** The guarded fetch of the kernel; the platform's unless told. */
  fetch?: typeof fetch;
}

/** Of a message to a model. */
export interface TaskImage {
  filename: string;
  media_type: string;
  bytes: Uint8Array;
}

export interface AdapterTask {
  run_id: string;
  adapter_type: string;
  provider: ProviderSpec | null;
  model: string;
  system_prompt: string;
  /** Images reach models alone; others get the text. */
  messages: { role: 'user' | 'assistant'; content: string; images?: readonly TaskImage[] }[];
  max_output_tokens: number;
  /** Without a byte from the provider, and in all, retries included. */
  timeouts: { idle_sec: number; total_sec: number };
  adapter_config: unknown;
  /** For adapters that start a program: CLIs and containers. */
  program?: ProgramSpec;
  /** For `lambda`. */
  cloud?: CloudSpec;
  /** The task payload (specification, Remote workers), for `docker` and `lambda`. */
  payload?: Record<string, unknown>;
}

export interface ProgramSpec {
  /** The CLI's program and the operator's own arguments; unused by `docker`. */
  command: readonly string[];
  /** The agent's home and working folder, both existing. */
  home: string;
  cwd: string;
  /** The working folder where it does not lie in the home. */
  workspace?: ProgramWorkspace;
  /** The workspace is there to be read, where walls can see to that. */
  read_only?: boolean;
  /** `dev:ino` of the home, for who looks at it under another name. */
  home_identity?: string;
  /** Asked in front of every start: throws where the home's path leads to another folder by now. */
  checkHome?: () => Promise<void>;
  /** The whole environment of the agent's program; SERVICE_RUN_ID in it marks every process that comes of it. */
  env: Record<string, string>;
  /**
   * Of a tenant's: for the program alone, and for nothing that starts it on this machine, which would take a library to load
   * or an engine to talk to from it.
   */
  own_env?: Record<string, string>;
  /** In all; what is left then is killed. */
  timeout_sec: number;
  session: CliSession | null;
  /** How often the CLI tries a failed model call again; some unless told. */
  retries?: number;
  /** Null: on this machine. */
  container: ContainerSpec | null;
  /** On this machine; absent: as it is. */
  sandbox?: SandboxSpec | undefined;
}

/** A folder that outlives its agent's work; of what lies around it a program sees nothing. */
export interface ProgramWorkspace {
  path: string;
  /** `dev:ino`. */
  identity: string;
  /** Folders beside it that may be read, at their own paths. */
  readable: readonly string[];
}

/** The operator's rules for containers. */
export interface ContainerSpec {
  /** The engine's command line. */
  cli: readonly string[];
  /** What the engine's command line itself needs of the environment. */
  cli_env: Record<string, string>;
  image: string;
  memory: string;
  cpus: number;
  pids: number;
  /** `none`: no network. */
  network: string;
  /** In place of a network: what is reached through the proxy alone. */
  reach?: Reach;
  /** As of a sandbox. */
  loopback?: EgressPlace | null;
}

/** Of a program and all that it starts. */
export interface ProgramLimits {
  /** `2g` */
  memory: string;
  /** Processors, on the average of some seconds. */
  cpus: number;
  pids: number;
}

/** Walls around a program on this machine. */
export interface SandboxSpec {
  /** Its file. */
  bubblewrap: string;
  /** Read-only, beside what programs need to run. */
  readable: readonly string[];
  /** Never seen, wherever it lies: the service's own folders. */
  hidden: readonly string[];
  /** All that the network is. */
  reach: Reach;
  /** The service's own place where it is one of this machine: it is one of the sandbox's loopback too. */
  loopback: EgressPlace | null;
  limits: ProgramLimits;
}

export interface CloudSpec {
  region: string;
  /** In place of the region's own. */
  endpoint: string | null;
  fetch?: typeof fetch;
}

/** What a CLI has reported of a session up to the end of a run; later reports go on from here. */
export interface SessionTotals {
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cost_usd: number;
}

export interface CliSession {
  id: string;
  /** The working folder of its runs. */
  cwd: string;
  totals: SessionTotals;
}

export interface UsageEvent {
  kind: 'usage';
  /** The model of the task: what the pricing file names. */
  model: string;
  /** Cached ones included (decisions 7.37). */
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  /** The provider reported none, or the call broke off: the numbers are an estimate of four characters a token. */
  usage_missing?: boolean;
  /** In USD, where the adapter reports it itself; else it is priced by the model's rates. */
  cost_usd?: number;
}

export type AdapterEvent =
  | { kind: 'output'; text: string }
  /**
   * What comes now is another message than the output so far. Only the last message with prose is the agent's answer;
   * verbs count in each.
   */
  | { kind: 'boundary' }
  | UsageEvent
  | { kind: 'log'; message: string }
  /** A tool of the CLI's own: its call, or what it came to. */
  | { kind: 'tool'; name: string; [detail: string]: unknown }
  /** The session to go on from next time; null: forget the one that was given. */
  | { kind: 'session'; session: CliSession | null };
