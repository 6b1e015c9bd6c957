/**
 * The foundation of every other package: errors, ids, time, cursors, configuration, logging, encryption of secrets and the
 * guard on outgoing requests. It knows no business terms and imports no other package of ours.
 */
export { dollars } from './dollars.ts';
export { written } from './numbers.ts';
export {
  conflict,
  errorKinds,
  forbidden,
  httpStatusOf,
  invalid,
  methodNotAllowed,
  notFound,
  rateLimited,
  ServiceError,
  tooLarge,
  unauthenticated,
  unavailable,
  unsupported,
} from './errors.ts';
export type { ErrorKind } from './errors.ts';
export { explainError, isFromOutside } from './explain-error.ts';
export { asciiLowerCase } from './ascii-case.ts';
export { HOLD_FOLDER } from './remove-tree.ts';
export { unlessAborted } from './unless-aborted.ts';
export { createHttpServer, requestHttp } from './node-http.ts';
export { isUuid, newId } from './ids.ts';
export { oneNamed } from './one-named.ts';
export { isTimestamp } from './time.ts';
export { decodeCursor, encodeCursor } from './cursors.ts';
export type { CursorField, CursorValue } from './cursors.ts';
export { constantTimeEqual, hmacSha256Hex, isApiKey, newApiKey, newToken, sha256Hex } from './crypto.ts';
export { Batches } from './batches.ts';
export { collector } from './collector.ts';
export {
  isTranslated,
  languagesWithFile,
  messageKey,
  parseLanguage,
  readLanguageFile,
  textsIn,
  translatorInto,
} from './languages.ts';
export type { LanguageTexts } from './languages.ts';
export { inWords, said, saidText, saidValue, stated } from './said.ts';
export type { Said } from './said.ts';
export { isNestedDeeper, JsonDepth, MAX_JSON_DEPTH } from './json-depth.ts';
export { answeredJson } from './answered-json.ts';
export { JoinedBytes } from './joined-bytes.ts';
export { ReadingPace } from './reading-pace.ts';
export { bounded, cutText, mapTexts, printable, readableJson, storableText } from './text.ts';
export { assertZone, offsetAt } from './time-zones.ts';
export {
  childEnvironment,
  ConfigError,
  configReference,
  configSecrets,
  encryptionKeyFile,
  loadConfig,
  loadWorkerConfig,
  pickEnvironment,
} from './config.ts';
export type { Config, Environment, WorkerConfig } from './config.ts';
export { makeHomeFolder } from './home-folder.ts';
export { createLogger } from './logger.ts';
export type { Logger, LogLevel } from './logger.ts';
export { requestContext } from './request-context.ts';
export { Scrubber, ScrubberStream } from './scrubber.ts';
export { scrubbedJson } from './scrubbed-json.ts';
export { clientAddress, parseTrustedProxies } from './trusted-proxies.ts';
export type { TrustedProxies } from './trusted-proxies.ts';
export { ONE_WISH_MS, Stopper } from './stopper.ts';
export type { Stoppable, StopOptions } from './stopper.ts';
export { serviceVersion } from './version.ts';
export type { McpCommand } from './config-mcp.ts';
export { parseRepositoryUrl } from './repository-url.ts';
export type { RepositoryUrl } from './repository-url.ts';
export { repositoryRoot } from './repository-root.ts';
export {
  BUBBLEWRAP_MEND,
  bubblewrapGround,
  bubblewrapLimits,
  bubblewrapProc,
  bubblewrapWalls,
  findBubblewrap,
  findProgram,
} from './bubblewrap.ts';
export {
  controllers,
  findControlGroups,
  joining,
  listControlGroups,
  makeControlGroup,
  removeControlGroup,
  removeEmptyControlGroups,
} from './control-groups.ts';
export type { Controller } from './control-groups.ts';
export { boundHolders, boundNames, boundWords, describeBounds, programBounds } from './program-bounds.ts';
export type { ProgramBound } from './program-bounds.ts';
export { isExposed } from './exposure.ts';
export { engineEnvironment, findPluginWalls } from './plugin-walls.ts';
export type { PluginWalls } from './plugin-walls.ts';
export { isForbiddenAddress } from './address-policy.ts';
export type { EgressPolicy } from './address-policy.ts';
export { createGuardedWebSocket } from './guarded-web-socket.ts';
export type { GuardedWebSocket } from './guarded-web-socket.ts';
export { Answer, AnswerTooLarge, exchange, ExchangeFailure, foreignJson } from './exchange.ts';
export {
  connectionFailure,
  createGuardedFetch,
  discardBody,
  EgressError,
  guardedLookup,
  NotListedError,
} from './guarded-fetch.ts';
export type { GuardedFetch } from './guarded-fetch.ts';
export type { Lookup } from './name-lookup.ts';
export { canonicalHost, HostList, portOf, readHostRule, writeHostRule } from './host-list.ts';
export { isInsideFolder, makeFolders, realPlace } from './folders.ts';
export {
  dropIfEmpty,
  dropTree,
  ensureFolders,
  filesBelow,
  openInside,
  removeInside,
  UnsafePlace,
  withFolder,
  writeInside,
} from './safe-files.ts';
export { keyFingerprint, Vault } from './vault.ts';
export { isOverTime, withinTime } from './within-time.ts';
export { issueLicense, readGivenLicense, readLicense } from './license.ts';
export type { License } from './license.ts';
export { alertTargets } from './alert-targets.ts';
export { freeBytes, usedPercent } from './disk-usage.ts';
export { startTelemetry } from './start-telemetry.ts';
export { currentTraceparent, isTracing, measure, openSpan, traced } from './tracing.ts';
export type { SpanOptions, TraceAttributes } from './tracing.ts';
export { describeConfig } from './describe-config.ts';
