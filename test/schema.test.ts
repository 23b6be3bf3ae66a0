import { readFileSync } from 'node:fs';
import {
  buildSchema,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isNonNullType,
  isObjectType,
  isScalarType,
  isSpecifiedDirective,
  isSpecifiedScalarType,
  isUnionType,
  lexicographicSortSchema,
  printSchema,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { printGraph } from '../src/graph/directives/print-graph.ts';
import { textLimits } from '../src/graphql/limits/input.ts';
import { schema } from '../src/schema.ts';

/** One element of a schema: where it stands, what it promises, and what it says of itself. */
interface Element {
  readonly promise: string;
  readonly description: string | null | undefined;
}

/** Everything that a frontend can name of a type, by its coordinate. */
function elementsOf(type: GraphQLNamedType): [string, Element][] {
  const { name, description } = type;
  const elements: [string, Element][] = [[name, { promise: kindOf(type), description }]];
  const add = (coordinate: string, promise: string, text: string | null | undefined) =>
    elements.push([`${name}${coordinate}`, { promise, description: text }]);
  if (isObjectType(type) || isInterfaceType(type)) {
    for (const { name: interfaceName } of type.getInterfaces()) {
      add(` implements ${interfaceName}`, 'yes', description);
    }
    for (const field of Object.values(type.getFields())) {
      add(`.${field.name}`, String(field.type), field.description);
      for (const arg of field.args) {
        const ifNotGiven =
          arg.defaultValue === undefined ? '' : ` = ${JSON.stringify(arg.defaultValue)}`;
        add(`.${field.name}(${arg.name}:)`, `${String(arg.type)}${ifNotGiven}`, arg.description);
      }
    }
  }
  if (isUnionType(type)) {
    for (const member of type.getTypes()) add(` includes ${member.name}`, 'yes', description);
  }
  if (isEnumType(type)) {
    for (const value of type.getValues()) add(`.${value.name}`, 'a value', value.description);
  }
  if (isInputObjectType(type)) {
    for (const field of Object.values(type.getFields())) {
      add(`.${field.name}`, String(field.type), field.description);
    }
  }
  return elements;
}

function kindOf(type: GraphQLNamedType): string {
  const oneOf = isInputObjectType(type) && type.isOneOf ? ' @oneOf' : '';
  return `${type.constructor.name}${oneOf}`;
}

/** The types that operations can meet: all that `fields` of Query and Mutation lead to. */
function reachableFrom(target: GraphQLSchema, isBuilt: (field: string) => boolean): Set<string> {
  const seen = new Set<string>();
  const visit = (type: GraphQLNamedType | null | undefined): void => {
    if (!type || seen.has(type.name)) return;
    seen.add(type.name);
    if (isObjectType(type) || isInterfaceType(type)) {
      for (const each of type.getInterfaces()) visit(each);
      for (const field of Object.values(type.getFields())) {
        if (type === target.getMutationType() && !isBuilt(field.name)) continue;
        visit(getNamedType(field.type));
        for (const arg of field.args) visit(getNamedType(arg.type));
      }
      if (isInterfaceType(type)) target.getPossibleTypes(type).forEach(visit);
    }
    if (isUnionType(type)) type.getTypes().forEach(visit);
    if (isInputObjectType(type)) {
      for (const field of Object.values(type.getFields())) visit(getNamedType(field.type));
    }
  };
  visit(target.getQueryType());
  visit(target.getMutationType());
  return seen;
}

const isOurs = (type: GraphQLNamedType): boolean =>
  !isIntrospectionType(type) && !isSpecifiedScalarType(type);

const elements = new Map(Object.values(schema.getTypeMap()).filter(isOurs).flatMap(elementsOf));

/** Every field that a type of the graph has, by its coordinate. */
function fieldsOf({ types }: { readonly types: GraphQLSchema }) {
  return Object.values(types.getTypeMap())
    .filter((type) => isOurs(type) && (isObjectType(type) || isInterfaceType(type)))
    .flatMap((type) =>
      isObjectType(type) || isInterfaceType(type)
        ? Object.values(type.getFields()).map(
            (field) => [`${type.name}.${field.name}`, field] as const,
          )
        : [],
    );
}

describe('schema.graphql', () => {
  const text = readFileSync('schema.graphql', 'utf8');

  it('is what `npm run schema` prints', () => {
    expect(text).toBe(printGraph(schema));
  });

  it('is the graph that is served, with the directives on its fields', () => {
    const printed = buildSchema(text);
    expect(printSchema(printed)).toBe(printSchema(lexicographicSortSchema(schema)));
    const marked = fieldsOf({ types: printed })
      .filter(([, { astNode }]) =>
        astNode?.directives?.some(({ name }) => name.value === 'semanticNonNull'),
      )
      .map(([coordinate]) => coordinate);
    expect(marked).toEqual(
      fieldsOf({ types: lexicographicSortSchema(schema) })
        .filter(([, { extensions }]) => extensions['directives'] !== undefined)
        .map(([coordinate]) => coordinate),
    );
    expect(marked).toContain('Query.account');
  });

  it('declares each directive that operations may use, and describes all of it', () => {
    const ours = schema.getDirectives().filter((directive) => !isSpecifiedDirective(directive));
    expect(ours.map(({ name }) => name)).toEqual([
      'defer',
      'idempotent',
      'live',
      'semanticNonNull',
      'stream',
    ]);
    for (const { name, description, args } of ours) {
      expect(text).toContain(`directive @${name}`);
      for (const each of [description, ...args.map((arg) => arg.description)]) {
        expect(each, name).toMatch(/^[A-Z].+\.$/);
      }
    }
  });

  it('says of each scalar of its own where it is specified', () => {
    const scalars = Object.values(schema.getTypeMap()).filter(
      (type) => isScalarType(type) && isOurs(type),
    );
    expect(scalars.length).toBeGreaterThan(3);
    for (const scalar of scalars) {
      const url = isScalarType(scalar) ? scalar.specifiedByURL : null;
      expect(url, scalar.name).toMatch(/^https:\/\//);
      expect(text).toContain(`scalar ${scalar.name} @specifiedBy(url: "${url}")`);
    }
  });
});

describe('A field of the graph that can be null', () => {
  const nullable = fieldsOf({ types: schema }).filter(([, { type }]) => !isNonNullType(type));

  it('says what null means', () => {
    expect(nullable.length).toBeGreaterThan(100);
    const silent = nullable.filter(([, { description }]) => !/\bnull\b/i.test(description ?? ''));
    expect(silent.map(([coordinate]) => coordinate)).toEqual([]);
  });

  it('is marked where null comes with an error only, and nowhere else', () => {
    const marked = fieldsOf({ types: schema }).filter(([, { extensions }]) =>
      Object.hasOwn(extensions['directives'] ?? {}, 'semanticNonNull'),
    );
    expect(marked.filter(([, { type }]) => isNonNullType(type))).toEqual([]);
    for (const [, { description }] of marked)
      expect(description).toMatch(/Null only if `errors` contains an error for it\./);
    const words = nullable.filter(([, { description }]) =>
      /only if `errors`/i.test(description ?? ''),
    );
    expect(words.map(([coordinate]) => coordinate)).toEqual(
      marked.map(([coordinate]) => coordinate),
    );
  });
});

describe('The graph', () => {
  it('has everything that frontends code against, as they were promised it', () => {
    const target = buildSchema(readFileSync('test/support/target-graph.graphql', 'utf8'));
    const isBuilt = (field: string) => elements.has(`Mutation.${field}`);
    const reachable = reachableFrom(target, isBuilt);
    const wanted = Object.values(target.getTypeMap())
      .filter((type) => isOurs(type) && reachable.has(type.name))
      .flatMap(elementsOf)
      .map(([coordinate, { promise }]) => [coordinate, promise] as const)
      .filter(([coordinate]) => {
        const [, field] = /^Mutation\.(\w+)/.exec(coordinate) ?? [];
        return field === undefined || isBuilt(field);
      });
    expect(wanted.length).toBeGreaterThan(300);
    const built = wanted.map(([coordinate]) => [coordinate, elements.get(coordinate)?.promise]);
    expect(Object.fromEntries(built)).toEqual(Object.fromEntries(wanted));
  });

  it('answers a mutation with what it has made, or with an Error', () => {
    const fields = Object.values(schema.getMutationType()?.getFields() ?? {}).filter(
      // They have no input that could be invalid.
      ({ name }) => !['cancelJob', 'pauseJob', 'resumeJob'].includes(name),
    );
    const unions = fields.map(({ type }) => getNamedType(type)).filter(isUnionType);
    expect(unions).toHaveLength(fields.length);
    for (const union of unions) {
      const made = union
        .getTypes()
        .filter((type) => type.getInterfaces().every(({ name }) => name !== 'Error'));
      expect(made, union.name).toHaveLength(1);
    }
  });

  it('says of what is to go what to use instead', () => {
    const leaving = fieldsOf({ types: schema }).filter(
      ([, field]) => field.deprecationReason != null,
    );
    expect(leaving.map(([coordinate]) => coordinate).toSorted()).toEqual([
      'Account.expires',
      'Account.registered',
      'CtaOverlay.date',
      'File.date',
      'Pixel.date',
      'Purchase.date',
      'QrCode.date',
      'SplashPage.date',
      'User.expires',
      'User.registered',
    ]);
    for (const [coordinate, { deprecationReason, type }] of leaving) {
      const [, name] = /^Renamed to `(\w+)`\.$/.exec(deprecationReason ?? '') ?? [];
      const [typename] = coordinate.split('.');
      expect(elements.get(`${typename}.${name}`)?.promise, coordinate).toBe(String(type));
    }
  });

  it('has every element whose texts have a length of their own', () => {
    expect(Object.keys(textLimits).filter((coordinate) => !elements.has(coordinate))).toEqual([]);
  });

  it('requires no argument and no input that frontends do not know of, where they know the field or the type', () => {
    const target = buildSchema(readFileSync('test/support/target-graph.graphql', 'utf8'));
    const known = new Set(
      Object.values(target.getTypeMap())
        .flatMap(elementsOf)
        .map(([coordinate]) => coordinate),
    );
    const unknown = [...elements].filter(
      ([coordinate, { promise }]) =>
        promise.endsWith('!') &&
        !known.has(coordinate) &&
        (coordinate.endsWith(':)')
          ? known.has(coordinate.replace(/\(.*/, ''))
          : isInputObjectType(target.getType(/^\w+/.exec(coordinate)?.[0] ?? ''))),
    );
    expect(unknown.map(([coordinate]) => coordinate)).toEqual([]);
  });
});

/** Words that say nothing by themselves. */
const FILLERS = new Set(
  'a all an and any are as at be by for from has in is it its of on or that the this to was which with'.split(
    ' ',
  ),
);

/** The words of a name or a sentence, in lower case and without their plural. */
function wordsOf(text: string): Set<string> {
  const words = text
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .match(/[a-z0-9]+/g);
  return new Set(
    (words ?? []).map((word) => word.replace(/s$/, '')).filter((word) => !FILLERS.has(word)),
  );
}

describe('Every element of the graph', () => {
  it('has a description, in sentences', () => {
    const poor = [...elements].filter(
      ([, { description }]) => !description || !/^[A-Z0-9`“].*[.)]$/s.test(description.trim()),
    );
    expect(poor.map(([coordinate]) => coordinate)).toEqual([]);
  });

  it('says more in it than its name does', () => {
    const idle = [...elements].filter(([coordinate, { description }]) => {
      const name = wordsOf(coordinate);
      return [...wordsOf(description ?? '')].every((word) => name.has(word));
    });
    expect(idle.map(([coordinate, { description }]) => `${coordinate}: ${description}`)).toEqual(
      [],
    );
  });

  it('says what reading it costs where it stands on Query', () => {
    const silent = [...elements].filter(
      ([coordinate, { description }]) =>
        /^Query\.\w+$/.test(coordinate) && !/\bcosts?\b|read together/i.test(description ?? ''),
    );
    expect(silent.map(([coordinate]) => coordinate)).toEqual([]);
  });

  it('says what it costs where it is about the view of a list', () => {
    const views = [...elements].filter(([coordinate]) =>
      /^\w+(Order|OrderField|OrderDirection|Range)\b|\((search|orderBy|offset|starred|public|hasRotator|type|kind|free|\w+Price|\w+At):\)$/.test(
        coordinate,
      ),
    );
    expect(views.length).toBeGreaterThan(150);
    // Older than that.
    const exempt = ['Query.files(search:)', 'Mutation.assignItemToChannel(type:)'];
    const silent = views.filter(
      ([coordinate, { description }]) =>
        !exempt.includes(coordinate) && !/\bcosts?\b/i.test(description ?? ''),
    );
    expect(silent.map(([coordinate]) => coordinate)).toEqual([]);
  });

  it('can be null where it comes from an upstream', () => {
    const query = schema.getQueryType()?.getFields() ?? {};
    const required = Object.values(query).filter(({ type }) => String(type).endsWith('!'));
    expect(required.map(({ name }) => name).toSorted()).toEqual([
      'jobs',
      'nodes',
      'purchases',
      'rateLimit',
    ]);
  });
});
