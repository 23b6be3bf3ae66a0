import { describe, expect, it } from 'vitest';
import type { Row } from '../../support/gateway.ts';
import { Stage } from './story.ts';

const stage = new Stage();
const path = '/api/account/update';

interface Own {
  readonly account: Row;
}

describe('Mutation.updateAccount', () => {
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
