import { graphql } from './graphql.ts';

/** Who is at work, and in which channels. 2 upstream calls, then none while it is looked at. */
export const Overview = graphql(`
  query Overview @live(throttle: 250) {
    account {
      id
      username
      email
      status
      registeredAt
    }
    channels(first: 28) {
      totalCount
      nodes {
        id
        name
        color
        description
        starred
      }
    }
  }
`);

/** How much of the plan is used. 7 upstream calls, 1 of which the overview shares. */
export const Usage = graphql(`
  query Usage {
    account {
      id
      plan {
        id
        name
      }
      usage {
        feature
        enabled
        used
        limit
      }
    }
  }
`);

/** The newest items of a channel. 1 upstream call. */
export const ChannelItems = graphql(`
  query ChannelItems($id: ID!) {
    channel(id: $id) {
      id
      items(first: 5) {
        totalCount
        nodes {
          __typename
          ... on LinkItem {
            id
            title
            date
          }
          ... on BioItem {
            id
            title
            date
          }
          ... on QrItem {
            id
            title
            date
          }
        }
      }
    }
  }
`);

/**
 * A page of the table of QR codes: those that match, sorted, from `offset` on. In the order of the API 1 upstream call;
 * searched or sorted 1 for 100 codes, and none while these are cached.
 */
export const QrCodes = graphql(`
  query QrCodes($first: Int!, $offset: Int!, $search: String, $orderBy: QrCodeOrder) {
    qrCodes(first: $first, offset: $offset, search: $search, orderBy: $orderBy) {
      totalCount
      nodes {
        id
        name
        createdAt
        scans
        link
      }
    }
  }
`);

/** How often a code was scanned over time, for nothing; its statistics after it. 1 upstream call. */
export const QrDetails = graphql(`
  query QrDetails($id: ID!) {
    qrCode(id: $id) {
      id
      days: scanHistory(step: DAY, last: 30) {
        at
        value
        observed
      }
      hours: scanHistory(step: HOUR, last: 24) {
        at
        value
        observed
      }
      ... @defer {
        statistics {
          clicks
          uniqueClicks
          topCountries {
            label
            count
          }
        }
      }
    }
  }
`);

/** The campaigns, the newest first. 1 upstream call. */
export const Campaigns = graphql(`
  query Campaigns {
    campaigns(first: 50) {
      totalCount
      nodes {
        id
        name
        public
        rotatorUrl
      }
    }
  }
`);

/** Makes a campaign. 1 upstream call; none when the input is wrong. */
export const CreateCampaign = graphql(`
  mutation CreateCampaign($input: CreateCampaignInput!) {
    createCampaign(input: $input) {
      __typename
      ... on Campaign {
        id
        name
        public
        rotatorUrl
      }
      ... on InvalidInput {
        issues {
          path
          message
        }
      }
      ... on Rejected {
        message
      }
    }
  }
`);

/** What was bought with a code; null for a code that is not valid. 1 call to the marketplace. */
export const PurchaseCheck = graphql(`
  query PurchaseCheck($code: String!) {
    purchase(code: $code) {
      code
      licenseType
      createdAt
      supportedUntil
      price
      currency
      downloaded
      item {
        id
        name
        version
        category
      }
    }
  }
`);

/** What is left of both budgets. Costs nothing. */
export const Budget = graphql(`
  query Budget {
    links: rateLimit(upstream: LINKS) {
      limit
      used
      queued
    }
    market: rateLimit(upstream: MARKET) {
      limit
      used
      queued
    }
  }
`);

/** What waits for the marketplace. Costs nothing. */
export const MarketQueue = graphql(`
  query MarketQueue {
    rateLimit(upstream: MARKET) {
      limit
      remaining
      queued
    }
  }
`);

/** What the file has. As a job 1 upstream call for 100 rows, and 1 for each code with its statistics. */
export const QrExport = graphql(`
  query QrExport($statistics: Boolean!) {
    qrCodes {
      nodes {
        id
        name
        createdAt
        scans
        link
        statistics @include(if: $statistics) {
          clicks
          uniqueClicks
        }
      }
    }
  }
`);

/** Starts a job that writes a file. Costs nothing by itself. */
export const StartExport = graphql(`
  mutation StartExport($input: StartExportInput!) {
    startExport(input: $input) {
      __typename
      ... on Job {
        id
      }
      ... on InvalidInput {
        message
      }
    }
  }
`);

/** Ends a job, or continues one that is paused or has failed. Costs nothing by itself. */
export const TurnExport = graphql(`
  mutation TurnExport($id: ID!, $ends: Boolean!) {
    cancelJob(id: $id) @include(if: $ends) {
      id
    }
    resumeJob(id: $id) @skip(if: $ends) {
      id
    }
  }
`);

/** The latest jobs and how far they are, as that changes: an export is found again after a reload. Costs nothing. */
export const LatestJobs = graphql(`
  query LatestJobs @live(throttle: 250) {
    jobs(first: 10) {
      nodes {
        id
        name
        state
        rowsDone
        rowsTotal
        callsSpent
        readyAt
        failures
        url
        error {
          message
        }
      }
    }
  }
`);
