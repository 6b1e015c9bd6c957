export { nouns, parseCommand } from './main.ts';
