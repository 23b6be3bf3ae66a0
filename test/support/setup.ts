import { afterAll, afterEach, onTestFinished, TestRunner, vi } from 'vitest';
import { keepBy } from './closing.ts';

const ofFile: (() => unknown)[] = [];

keepBy((end) => {
  if (TestRunner.getCurrentTest()) onTestFinished(async () => void (await end()));
  else ofFile.push(end);
});

// Files share a process, and so its globals.
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

afterAll(async () => {
  for (const end of ofFile.splice(0).toReversed()) await end();
});
