// Foundation of the tests: databases, factories, fake servers at the process edge, waiting. Never imported by the service.
export {
  cloneDatabase,
  closeTestDatabases,
  emptyDatabase,
  loneDatabase,
  testDatabase,
} from './test-database.ts';
export type { TestDatabase } from './test-database.ts';
export { startTestServer, stopTestServer, testLogger } from './test-server.ts';
export type { TestServer } from './test-server.ts';
export { pagesRead, plansOf, stepsOf } from './pages-read.ts';
export { startStatementCounter } from './statement-counter.ts';
export type { StatementCounter } from './statement-counter.ts';
export { freePort } from './free-port.ts';
export { needsBubblewrap } from './needs-bubblewrap.ts';
export { nextInstant } from './next-instant.ts';
export { meetAt, waitingForLocks } from './meet-at.ts';
export { waitFor } from './wait-for.ts';
export { cpuMs } from './cpu-time.ts';
export type { WaitForOptions } from './wait-for.ts';
export { forkFakeModel, startFakeModel } from './fake-model.ts';
export type {
  FakeModel,
  FakeModelOptions,
  FakeModelReply,
  FakeModelRequest,
  FakeModelScript,
  ForkedFakeModel,
} from './fake-model.ts';
export {
  actors,
  createAgent,
  createCompany,
  createIssue,
  createIntegration,
  createKeyOf,
  createMembership,
  createSession,
  createUser,
} from './factories.ts';
export { wordEmbeddings } from './word-embeddings.ts';
export type { Embed } from './word-embeddings.ts';
export { readPrompt } from './read-prompt.ts';
export type { ReadIssue, ReadPrompt } from './read-prompt.ts';
export { pendingWakeups } from './pending-wakeups.ts';
export { createRunningRun } from './running-run.ts';
export { databaseWithQueue, queuedJobs } from './queued-jobs.ts';
export {
  killServices,
  processesIn,
  signalProcessesIn,
  spawnService,
  spawnWorker,
  startService,
} from './processes.ts';
export type { LogLine, ProcessExit, Program, ServiceProcess } from './processes.ts';
export { fakeTaskPayload, startFakeControlPlane } from './fake-control-plane.ts';
export type { FakeControlPlane, FakeControlPlaneRequest, FakeTask, Fault } from './fake-control-plane.ts';
export { startS3Server } from './s3-server.ts';
export type { S3Server } from './s3-server.ts';
export { SoftwareAuthenticator, totpCode } from './software-authenticator.ts';
export { startFakeOidc, signInAt } from './fake-oidc.ts';
export type { FakeOidc, FakeOidcOptions, OidcAccount } from './fake-oidc.ts';
export { startFakeGithub } from './fake-github.ts';
export type { FakeGithub, GithubAccount } from './fake-github.ts';
export { startFakeGithubPulls } from './fake-github-pulls.ts';
export type { FakeGithubPulls } from './fake-github-pulls.ts';
export { startGitServer } from './git-server.ts';
export type { GitServer } from './git-server.ts';
export { drippingAnswers, hostileAnswers, startHostileServer } from './hostile-server.ts';
export type { HostileAnswer, HostileServer } from './hostile-server.ts';
export { type HostileMachine, startHostileMachine } from './hostile-machine.ts';
export { fakeCliCommand, hostileCommand, fakeCliJournal } from './fake-cli-command.ts';
export type { FakeCliCall, FakeCliJournal, FakeCliScript } from './fake-cli-command.ts';
export { startFakeVendorModel, vendorUsage } from './fake-vendor-model.ts';
export type { FakeVendorModel, VendorAnswer, VendorRequest } from './fake-vendor-model.ts';
export { startFakeTelegram } from './fake-telegram.ts';
export type { FakeTelegram, TelegramCall } from './fake-telegram.ts';
export { startFakeSlack } from './fake-slack.ts';
export type { FakeSlack } from './fake-slack.ts';
export { startFakeMail } from './fake-mail.ts';
export type { FakeMail, ReceivedMail } from './fake-mail.ts';
