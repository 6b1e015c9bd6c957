// Jest's `testEnvironment` for tests loaded by Node: this worker's own realm. A file's changes to it are undone.
import { mocks } from './jest-globals.ts';

export default class NativeEnvironment {
  readonly global = globalThis;
  readonly fakeTimers = null;
  readonly fakeTimersModern = null;
  readonly moduleMocker = mocks;
  private readonly env = { ...process.env };
  private readonly exit = Object.getOwnPropertyDescriptor(process, 'exit');
  private readonly exitCode = process.exitCode;

  async setup(): Promise<void> {}

  async teardown(): Promise<void> {
    mocks.restoreAllMocks();
    for (const name of Object.keys(process.env)) if (!(name in this.env)) delete process.env[name];
    Object.assign(process.env, this.env);
    // Jest wraps it for each file, to report who calls it.
    if (this.exit) Object.defineProperty(process, 'exit', this.exit);
    process.exitCode = this.exitCode;
  }

  /** Jest calls it before it loads anything. */
  getVmContext(): null {
    return null;
  }
}
