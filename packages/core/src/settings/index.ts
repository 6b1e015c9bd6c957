/** Owns `instance_settings`. A value is what its key's schema says, on the way in and on the way out. */
export { clearSetting, getSetting, putSetting, runsPaused } from './settings.ts';
