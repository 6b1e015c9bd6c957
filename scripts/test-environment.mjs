// Jest's environment for Node, with compiled code kept. Each test file gets all its modules afresh, and jest would compile
// the same two thousand for each of them; what V8 makes of a source once serves all files of this worker.
import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

const { SourceTextModule, compileFunction } = vm;
const keptModules = new Map();
const keptFunctions = new Map();

/** The code belongs to the source and not to the name: a test may write a module twice. */
function keptFor(kept, name, source) {
  const found = kept.get(name);
  return found?.source === source ? found.cachedData : undefined;
}

vm.SourceTextModule = class extends SourceTextModule {
  constructor(source, options) {
    const name = options.identifier;
    const cachedData = keptFor(keptModules, name, source);
    super(source, { ...options, cachedData });
    if (cachedData === undefined) keptModules.set(name, { source, cachedData: this.createCachedData() });
  }
};

vm.compileFunction = (source, params, options) => {
  const name = options.filename;
  const cachedData = keptFor(keptFunctions, name, source);
  const compiled = compileFunction(source, params, {
    ...options,
    cachedData,
    produceCachedData: cachedData === undefined,
  });
  if (compiled.cachedData !== undefined) keptFunctions.set(name, { source, cachedData: compiled.cachedData });
  return compiled;
};

export default TestEnvironment;
