// Jest transformer: erases TypeScript types with Node's own stripper, as the service itself runs from source.
import { stripTypeScriptTypes } from 'node:module';

export default {
  process: (source) => ({ code: stripTypeScriptTypes(source, { mode: 'strip' }) }),
};
