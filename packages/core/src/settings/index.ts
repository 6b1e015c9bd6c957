/**
 * Owns `instance_settings` and `instance_flags`. Values conform to their key's schema, both when written and when read.
 */
export { clearSetting, getSetting, putSetting, runsPaused, runsPausedHere } from './settings.ts';
export { instanceName } from './instance-name.ts';
export { changeSettings, readSettings } from './instance-settings.ts';
export { deleteFlag, flagEnabled, getFlag, listFlags, putFlag } from './flags.ts';
export { readGate } from './gate.ts';
export { admitEncryptionKey, noteOnlyEncryptionKey, unknownEncryptionKeys } from './encryption-keys.ts';
export {
  admitEnvironmentLicense,
  admitLicense,
  installLicense,
  licenseState,
  READ_ONLY,
  readOnlyInstance,
  requireEntitlement,
} from './license.ts';
export { knowsStorageMarker } from './storage-marker.ts';
export { type ParsedCron, parseCron } from './cron.ts';
