export { nouns } from './nouns.ts';
export { parseCommand } from './run-ctl.ts';
