export { nouns, parseCommand } from './run-ctl.ts';
