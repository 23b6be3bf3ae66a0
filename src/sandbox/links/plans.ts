import { stamp } from '../clock.ts';
import { Refusal } from '../http/answer.ts';
import {
  adminOnly,
  existing,
  type LinksRoutes,
  members,
  now,
  ok,
  optionalStamp,
  requiredText,
} from './context.ts';

/** The end of a subscription that starts now; null without an end. */
function endOf(type: string, from: number): string | null {
  const end = new Date(from);
  if (type === 'lifetime') return null;
  const months = end.getUTCMonth() + (type === 'yearly' ? 12 : 1);
  const day = end.getUTCDate();
  end.setUTCDate(1);
  end.setUTCMonth(months);
  // For the 31st, a shorter month uses its last day, not a day of the next month.
  const last = new Date(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() + 1, 0)).getUTCDate();
  end.setUTCDate(Math.min(day, last));
  return stamp(end.getTime());
}

/** Implements: Link API > Plans (admin only). */
export const planRoutes: LinksRoutes = {
  'GET /api/plans': (context) => {
    adminOnly(context);
    return ok({ data: context.store.plans });
  },
  'PUT /api/plan/:planid/user/:userid': (context, { planid, userid }) => {
    adminOnly(context);
    const { store } = context;
    const plan = existing(
      store.plans.find((row) => row.id === Number(planid)),
      'Plan',
    );
    const user = existing(
      store.users.find((row) => row.id === Number(userid)),
      'User',
    );
    const body = members(context);
    const type = requiredText(body, 'type');
    if (!['monthly', 'yearly', 'lifetime'].includes(type))
      throw new Refusal(400, 'The type must be monthly, yearly or lifetime');
    const expiration = optionalStamp(body, 'expiration');
    user.planid = plan.id;
    user.status = plan.free ? 'free' : 'pro';
    user.expires = expiration ?? (plan.free ? null : endOf(type, now(context)));
    return ok({ message: 'User has been subscribed to this plan.' });
  },
};
