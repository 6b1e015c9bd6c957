import { removeExpiredHomes } from '../programs/expired-homes.ts';
import { sweepWorkFolders } from '../programs/work-folders.ts';
import type { TimerRow } from '../context.ts';
import { clearWorkspaces } from './clear-workspaces.ts';
import { watchPullRequests } from './watch-pull-requests.ts';

/** Timers for folders on this machine, and for the branches behind them. */
export const folderTimers: readonly TimerRow[] = [
  { name: 'work-folders', interval_sec: 3600, work: sweepWorkFolders },
  { name: 'subagent-homes', interval_sec: 3600, work: removeExpiredHomes },
  { name: 'workspaces', interval_sec: 3600, work: clearWorkspaces },
  {
    name: 'pull-requests',
    interval_sec: 30,
    work: async ({ workspaces }, signal) => watchPullRequests(workspaces, signal),
  },
];
