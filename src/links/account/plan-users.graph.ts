import { builder, connectionOf } from '../../graph/builder.ts';
import { andThen } from '../../scheduling/at-once.ts';
import type { ListView } from '../../upstream/lists/views/view.ts';
import { PlanRef } from './plan.graph.ts';
import { UserRef } from './user.graph.ts';
import { type User, users } from './user.ts';

const allUsers = users();

builder.objectFields(PlanRef, (t) => ({
  users: t.connection(
    {
      type: UserRef,
      nullable: true,
      semanticNonNull: true,
      description:
        'The users of the plan, out of the list of all users, which all plans share. Costs 1 upstream request for that list if not cached.',
      resolve: ({ id }, window, { links }) => links.connection(allUsers, window, usersOf(id)),
    },
    ...connectionOf('PlanUsers', 'users of a plan'),
  ),
  userCount: t.int({
    semanticNonNull: true,
    description:
      'Number of users of the plan, as in `users`. Costs 1 upstream request for the list of all users if not cached.',
    resolve: ({ id }, _args, { links }) =>
      andThen(links.all(allUsers, usersOf(id)), ({ length }) => length),
  }),
}));

/** The users of a plan, as a view of the list of all users. */
function usersOf(planId: number): ListView<User> {
  return { key: `plan ${planId}`, filter: (user) => user.planId === planId };
}
