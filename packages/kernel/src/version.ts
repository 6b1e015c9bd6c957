import { loadStamp } from './config.ts';

interface ServiceVersion {
  version: string;
  commit: string;
}

/** The version set by the build; `dev` for both fields without one (specification, Versioning 1). */
export function serviceVersion(): ServiceVersion {
  return loadStamp();
}
