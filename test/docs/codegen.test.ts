import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClientPresetConfig, preset } from '@graphql-codegen/client-preset';
import { codegen } from '@graphql-codegen/core';
import { buildASTSchema, parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import { clientStage } from './support/client-stage.ts';

interface Config {
  readonly schema: string;
  readonly generates: Readonly<
    Record<string, { presetConfig: ClientPresetConfig; config: Record<string, unknown> }>
  >;
}

const stage = clientStage();
const operation = 'query Item { item(id: 1) { name publishedAt } account { status } }';
const page = `
import type { ResultOf } from './graphql.ts';
import { graphql } from './gql/gql.ts';
import type { AccountStatus } from './gql/graphql.ts';

const Item = graphql('${operation}');
type Item = ResultOf<typeof Item>;

export const day = ({ item }: Item): string | undefined => item?.publishedAt?.slice(0, 10);
export const isPro = ({ account }: Item): boolean => account?.status === 'PRO';
export const pro: AccountStatus = 'PRO';
// @ts-expect-error A scalar is what the configuration says.
export const year = ({ item }: Item) => item?.publishedAt?.getFullYear();
// @ts-expect-error No such field.
export const title = ({ item }: Item) => item?.title;
// @ts-expect-error No such value.
export const gold: AccountStatus = 'GOLD';
`;

describe('the types of GraphQL Code Generator, as docs/frontend-reference.md configures it', () => {
  it('are those of the graph', async () => {
    const { project } = stage;
    const { default: config } = await stage.load<{ default: Config }>('../codegen.ts');
    const schema = parse(readFileSync(join(project.folder, config.schema), 'utf8'));
    for (const [folder, { presetConfig, config: options }] of Object.entries(config.generates)) {
      // What its command does with each folder of the configuration.
      const files = await preset.buildGeneratesSection({
        baseOutputDir: join(project.folder, folder, '/'),
        presetConfig,
        config: options,
        schema,
        schemaAst: buildASTSchema(schema),
        documents: [{ document: parse(operation), rawSDL: operation, location: 'src/item.ts' }],
        plugins: [],
        pluginMap: {},
        pluginContext: {},
      });
      for (const file of files) {
        const text = await codegen(file);
        project.write(file.filename.slice(project.folder.length), text);
      }
    }
    project.write('src/item.ts', page);
    expect(await project.check()).toEqual({ status: 0, output: '' });
  });
});
