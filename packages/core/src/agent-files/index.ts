/**
 * Owns `agent_files` and `agent_file_texts`. Invariants: paths consist of ordinary names; a row's bytes are in storage under its
 * key, which is recorded as an orphan before the row exists and after it is gone; a skill's row also contains its text.
 */
export {
  deleteAgentFile,
  deleteFsSkill,
  filesForHome,
  findAgentFile,
  findFsSkill,
  listAgentFiles,
  listFsSkills,
  putAgentFile,
  putFsSkill,
} from './agent-files.ts';
export type { AgentFileRow } from './agent-files.ts';
export { claimFileText, releaseFileText, storeFileText } from './file-texts.ts';
export { checkFilePath } from './paths.ts';
