import { describe, expect, it } from 'vitest';
import { code, file, operation, preflighted, type Reply, UploadStage } from './upload-stage.ts';

const stage = new UploadStage();

describe('a multipart request', () => {
  const operations = JSON.stringify({ query: operation, variables: { input: { file: null } } });
  const map = '{"0":["variables.input.file"]}';
  const part = file('a.txt', 'x');

  it('needs a header that no form of another page can send', async () => {
    const parts = [
      ['operations', operations] as const,
      ['map', map] as const,
      ['0', part] as const,
    ];
    const reply = await stage.send(parts, { headers: {} });
    expect([reply.status, code(reply)]).toEqual([403, 'FORBIDDEN']);
    expect(stage.world.calls()).toEqual([]);
  });

  it.each<[string, [string, string | File][]]>([
    [
      'without operations',
      [
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose operations are no JSON',
      [
        ['operations', '{'],
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose operations are null',
      [
        ['operations', 'null'],
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose operations are a text',
      [
        ['operations', '"a"'],
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose operations are a list',
      [
        ['operations', `[${operations}]`],
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose operations are a file',
      [
        ['operations', part],
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose map is no JSON',
      [
        ['operations', operations],
        ['map', '{'],
        ['0', part],
      ],
    ],
    [
      'whose map is a file',
      [
        ['operations', operations],
        ['map', part],
        ['0', part],
      ],
    ],
    [
      'whose map holds no lists',
      [
        ['operations', operations],
        ['map', '{"0":1}'],
        ['0', part],
      ],
    ],
    [
      'whose map holds no paths',
      [
        ['operations', operations],
        ['map', '{"0":[1]}'],
        ['0', part],
      ],
    ],
    [
      'without a map',
      [
        ['operations', operations],
        ['0', part],
      ],
    ],
    [
      'without its file',
      [
        ['operations', operations],
        ['map', map],
      ],
    ],
    [
      'with a text for a file',
      [
        ['operations', operations],
        ['map', map],
        ['0', 'x'],
      ],
    ],
    [
      'with a file in the wrong place',
      [
        ['operations', operations],
        ['map', '{"0":["variables.__proto__.file"]}'],
        ['0', part],
      ],
    ],
  ])('%s is the caller’s mistake', async (_, parts) => {
    const reply = await stage.send(parts);
    expect([reply.status, code(reply)]).toEqual([400, 'BAD_USER_INPUT']);
    expect(stage.world.calls()).toEqual([]);
  });

  it.each([
    ['that ends too early', 'multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form'],
    ['without a boundary', 'multipart/form-data', 'anything'],
    ['of another boundary', 'multipart/form-data; boundary=x', '--y\r\n\r\n--y--'],
    ['without a body', 'multipart/form-data; boundary=x', ''],
  ])('%s is the caller’s mistake', async (_, type, body) => {
    const headers = { ...preflighted, 'content-type': type };
    const response = await fetch(`${stage.url}/graphql`, { method: 'POST', headers, body });
    expect(response.status).toBe(400);
    expect(code((await response.json()) as Reply)).toBe('BAD_USER_INPUT');
  });
});
