// What lies in folders of this machine and has outlived its time: each scheduler clears those that it sees.
export { removeOutlivedHomes } from './programs/outlived-homes.ts';
export { sweepWorkFolders } from './programs/work-folders.ts';
export { clearWorkspaces } from './workspaces/clear-workspaces.ts';
