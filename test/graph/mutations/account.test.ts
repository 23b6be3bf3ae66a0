import { describe, expect, it } from 'vitest';
import type { Row } from '../../support/gateway.ts';
import { behavesWhenDisturbed, noes, Stage, yeses } from './story.ts';

const stage = new Stage();
const path = '/api/account/update';

interface Own {
  readonly account: Row;
}

describe('Mutation.updateAccount', () => {
  it('changes the address, and answers it without a further call', async () => {
    const { result, calls } = await stage.change(
      'updateAccount(input: { email: "ann@example.com" })',
      'Account { email }',
    );
    expect(result).toEqual({ __typename: 'Account', email: 'ann@example.com' });
    expect(calls).toEqual([`PUT ${path}`]);
    expect(stage.written).toEqual([{ method: 'PUT', path, body: { email: 'ann@example.com' } }]);
  });

  it('changes the password alone, and both together', async () => {
    await stage.change('updateAccount(input: { password: "12345" })', 'Account { __typename }');
    expect(stage.written).toEqual([{ method: 'PUT', path, body: { password: '12345' } }]);
    await stage.change(
      'updateAccount(input: { email: "ann@example.com", password: "pässwörd" })',
      'Account { email }',
    );
    const body = { email: 'ann@example.com', password: 'pässwörd' };
    expect(stage.written).toEqual([{ method: 'PUT', path, body }]);
  });

  it('takes a null for a member that was not given', async () => {
    await stage.change(
      'updateAccount(input: { email: null, password: "12345" })',
      'Account { __typename }',
    );
    expect(stage.written).toEqual([{ method: 'PUT', path, body: { password: '12345' } }]);
  });

  it('reads what it was not told with one call for everything', async () => {
    const { account } = await stage.world.data<Own>(
      '{ account { id databaseId username avatar status expires registered } }',
    );
    const { result, calls } = await stage.change(
      'updateAccount(input: { email: "ann@example.com" })',
      'Account { id databaseId email username avatar status expires registered }',
    );
    expect(result).toEqual({ __typename: 'Account', ...account, email: 'ann@example.com' });
    expect(calls).toEqual([`PUT ${path}`, 'GET /api/account']);
  });

  it('shows in every later read, also where the account was kept as it had been', async () => {
    const query = '{ account { id email } users { id email } }';
    interface Both extends Own {
      readonly users: readonly Row[];
    }
    const before = await stage.world.data<Both>(query);
    expect(before.account['email']).not.toBe('ann@example.com');
    await stage.change('updateAccount(input: { email: "ann@example.com" })', 'Account { email }');
    const { account, users } = await stage.world.data<Both>(query);
    expect(account).toEqual({ ...before.account, email: 'ann@example.com' });
    expect(users.map(({ email }) => email)).toContain('ann@example.com');
    const { node } = await stage.world.data<{ node: Row }>(
      'query ($id: ID!) { node(id: $id) { ... on Account { email } } }',
      { id: account['id'] },
    );
    expect(node).toEqual({ email: 'ann@example.com' });
  });

  it('passes on why the upstream refuses', async () => {
    const { data } = await stage.world.links<{ data: readonly Row[] }>('/api/users');
    const taken = String(data[0]?.['email']);
    const { result, calls } = await stage.change(
      `updateAccount(input: { email: "${taken}" })`,
      'Account { email }',
    );
    expect(result).toEqual({
      __typename: 'Rejected',
      message: 'An account with this email already exists',
      upstream: 'LINKS',
    });
    expect(calls).toHaveLength(1);
  });

  it.each([
    ['{}', [['input']]],
    ['{ email: null, password: null }', [['input']]],
    [
      '{ email: "", password: "" }',
      [
        ['input', 'email'],
        ['input', 'password'],
      ],
    ],
    ['{ email: "Ann <ann@example.com>" }', [['input', 'email']]],
    ['{ email: "ann@example" }', [['input', 'email']]],
    ['{ email: "ann@b@example.com" }', [['input', 'email']]],
    [
      '{ email: "a b@example.com", password: "1234" }',
      [
        ['input', 'email'],
        ['input', 'password'],
      ],
    ],
  ])('finds every fault of %s, and spends no call', async (input, paths) => {
    const { result, calls } = await stage.change(
      `updateAccount(input: ${input})`,
      'Account { email }',
    );
    expect(result).toMatchObject({ __typename: 'InvalidInput' });
    expect(result.issues?.map((issue) => issue.path)).toEqual(paths);
    expect(calls).toEqual([]);
  });

  it.each(["o'hara@example.co.uk", 'a.b+tag@bücher.example', 'x@sub.domain.example'])(
    'leaves it to the upstream whether %s will do',
    async (email) => {
      await stage.change(`updateAccount(input: { email: "${email}" })`, 'Account { email }');
      expect(stage.written).toEqual([{ method: 'PUT', path, body: { email } }]);
    },
  );

  it.each(yeses({ message: 'Account has been updated.' }))(
    'understands success %s',
    async (_, body, status) => {
      stage.answer(path, body, status);
      const { result, calls } = await stage.change(
        'updateAccount(input: { email: "ann@example.com" })',
        'Account { email }',
      );
      expect(result).toEqual({ __typename: 'Account', email: 'ann@example.com' });
      expect(calls).toHaveLength(1);
    },
  );

  it('believes an answer that contains more of the account than the input', async () => {
    const data = { id: '1', email: 'ann@example.com', username: 'ann', expires: null };
    stage.answer(path, {
      error: 0,
      data: { ...data, status: 'PRO', avatar: 'https://x.example/a' },
    });
    const { result, calls } = await stage.change(
      'updateAccount(input: { email: "Ann@Example.com" })',
      'Account { databaseId email username status avatar }',
    );
    expect(result).toEqual({
      __typename: 'Account',
      databaseId: 1,
      email: 'ann@example.com',
      username: 'ann',
      status: 'PRO',
      avatar: 'https://x.example/a',
    });
    expect(calls).toHaveLength(1);
  });

  it.each(noes)('understands a refusal with `error` %s', async (_, body, status, message) => {
    stage.answer(path, body, status);
    const { result, calls } = await stage.change(
      'updateAccount(input: { email: "ann@example.com" })',
      'Account { email }',
    );
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
    expect(calls).toHaveLength(1);
  });

  behavesWhenDisturbed(stage, {
    mutation: 'updateAccount(input: { email: "ann@example.com", password: "12345" })',
    typename: 'Account',
    wire: { method: 'PUT', path, body: { email: 'ann@example.com', password: '12345' } },
    check: 'Query.account',
    look: '{ account { email } }',
    times: ({ account }: Own) => (account['email'] === 'ann@example.com' ? 1 : 0),
  });

  it('names the login as what to check when only the password was sent', async () => {
    stage.sandbox.links.fault({ kind: 'drop', applied: true, path });
    const { errors } = await stage.change(
      'updateAccount(input: { password: "a secret" })',
      'Account { email }',
    );
    expect(errors[0]?.extensions).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      check: 'whether login with the new password works',
    });
  });

  it('repeats the password in no answer', async () => {
    const answers = [
      await stage.change('updateAccount(input: { password: "s3kr" })', 'Account { email }'),
      await stage.change('updateAccount(input: { password: "s3kret!" })', 'Account { email }'),
    ];
    stage.sandbox.links.fault({ kind: 'error-500', path });
    answers.push(
      await stage.change('updateAccount(input: { password: "s3kret!" })', 'Account { email }'),
    );
    for (const { text } of answers) expect(text).not.toContain('s3kr');
  });
});
