/** The process's entry point; the program is in main.ts. */
import { keepCompiled } from '@acp/kernel/keep-compiled';

keepCompiled();
await import('./main.ts');
