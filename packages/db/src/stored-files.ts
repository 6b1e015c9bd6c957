/**
 * The tables whose rows name a file of the storage, in their column `storage_key`. It is there as long as a row names it: its bytes
 * are deleted after the commit of whoever deletes the row, or has it name another one.
 */
export const storedFileTables = [
  'agent_files',
  'assets',
  'attachments',
  'plugin_binaries',
  'workspace_bundles',
] as const;
