import { afterAll, onTestFinished, TestRunner } from 'vitest';
import { keepBy } from './closing.ts';

const ofFile: (() => unknown)[] = [];

keepBy((end) => {
  if (TestRunner.getCurrentTest()) onTestFinished(async () => void (await end()));
  else ofFile.push(end);
});

afterAll(async () => {
  for (const end of ofFile.splice(0).toReversed()) await end();
});
