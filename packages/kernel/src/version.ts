import { loadStamp } from './config.ts';

export interface ServiceVersion {
  version: string;
  commit: string;
}

/** What the build stamped on this process; `dev` for both in an unstamped one (specification, Versioning 1). */
export function serviceVersion(): ServiceVersion {
  return loadStamp();
}
