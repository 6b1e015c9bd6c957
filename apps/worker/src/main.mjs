/** The process’s entry: what it does is in main.ts. */
import { keepCompiled } from '@acp/kernel/keep-compiled';

keepCompiled();
await import('./main.ts');
