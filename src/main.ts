#!/usr/bin/env node

/**
 * The Node version that `package.json` requires. Nothing is imported before the check: an older one cannot parse
 * it.
 */
const OLDEST_NODE = { major: 20, minor: 19 };

type Command = (args: readonly string[], env: NodeJS.ProcessEnv) => void | Promise<void>;

/** The commands. Each loads its modules when it is called. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  sandbox: async () => (await import('./commands/sandbox.ts')).runSandbox,
  token: async () => (await import('./commands/token.ts')).makeToken,
  export: async () => (await import('./commands/export.ts')).runExport,
  'check-config': async () => (await import('./commands/check-config.ts')).checkConfig,
  'print-schema': async () => (await import('./commands/print-schema.ts')).printSchema,
  version: async () => (await import('./commands/help.ts')).printVersion,
  help: async () => (await import('./commands/help.ts')).printHelp,
};

/** Options that are commands, at any position. */
const spellings: Readonly<Record<string, string>> = {
  '--help': 'help',
  '-h': 'help',
  '--version': 'version',
  '-v': 'version',
  '--check-config': 'check-config',
};

async function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const option = Object.keys(spellings).find((each) => args.includes(each));
  if (option !== undefined) {
    await run(spellings[option] ?? '', args.toSpliced(args.indexOf(option), 1), env);
    return;
  }
  const [name, ...rest] = args;
  if (name !== undefined && !name.startsWith('-')) {
    await run(name, rest, env);
    return;
  }
  const { serve } = await import('./start/serve.ts');
  await serve(args, env);
}

async function run(name: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader that has seen enough, such as `head`.
    if (error.code === 'EPIPE') process.exit();
    process.stderr.write(`The output cannot be written (${error.code ?? error.message}).\n`);
    process.exit(1);
  });
  if (!Object.hasOwn(commands, name)) {
    const { UsageError } = await import('./commands/faults.ts');
    const names = Object.keys(commands).join(', ');
    throw new UsageError(`Unknown command ${name}. The commands are ${names}.`);
  }
  const command = await commands[name]?.();
  await command?.(args, env);
}

async function fail(error: unknown): Promise<never> {
  const { describeFault } = await import('./commands/describe-fault.ts');
  const { code, text } = describeFault(error);
  process.stderr.write(`${text}\n`);
  // Sockets opened before the failure must not keep the process alive.
  process.exit(code);
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < OLDEST_NODE.major || (major === OLDEST_NODE.major && minor < OLDEST_NODE.minor)) {
  const wanted = `${OLDEST_NODE.major}.${OLDEST_NODE.minor}`;
  process.stderr.write(
    `links-market-gateway requires Node.js ${wanted} or later; this is ${process.version}.\n`,
  );
  process.exitCode = 1;
} else {
  main(process.argv.slice(2), process.env).catch(fail);
}
