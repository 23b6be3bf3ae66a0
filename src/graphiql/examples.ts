/** An operation that GraphiQL opens on; its tab takes the operation's name. */
export interface Example {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

const dashboard = `# The account, and ten channels with five items each.
# Costs 12 upstream requests, or none if all data is
# cached. extensions.upstream of the response
# contains the number.
query Dashboard {
  account {
    username
    email
    status
    expiresAt
  }
  channels(first: 10) {
    totalCount
    nodes {
      name
      color
      starred
      items(first: 5) {
        nodes {
          __typename
          ... on ChannelEntry {
            title
            link
          }
        }
      }
    }
  }
}
`;

const channel = `# A channel contains links, bio pages and QR codes.
# Select the fields of each type. The QR codes are
# read by list pages if that costs less.
query Channel {
  channels(first: 1) {
    nodes {
      name
      description
      items(first: 20) {
        totalCount
        pageInfo {
          hasNextPage
          endCursor
        }
        nodes {
          ... on LinkItem {
            title
            link
            date
          }
          ... on BioItem {
            title
            preview
          }
          ... on QrItem {
            title
            qrCode {
              name
              scans
              link
            }
          }
        }
      }
    }
  }
}
`;

const qrStatistics = `# Statistics cost 1 upstream request per QR code.
# Fields that are not selected cost nothing.
query QrStatistics {
  qrCodes(first: 2) {
    nodes {
      name
      scans
      statistics {
        clicks
        uniqueClicks
        topCountries {
          label
          count
        }
        topBrowsers {
          label
          count
        }
        socialCounts {
          label
          count
        }
      }
    }
  }
}
`;

const qrCodeTable = `# Page 3 of a table: search, order and offset.
# Costs 1 upstream request per 100 QR codes. While they
# are cached, every search, order and page costs none.
query QrCodeTable {
  qrCodes(
    search: "poster"
    orderBy: { field: SCANS, direction: DESC }
    first: 5
    offset: 10
  ) {
    totalCount
    nodes {
      name
      scans
      link
    }
  }
}
`;

const scanHistory = `# Scans per day, and the length of the list per hour.
# Histories cost no upstream request: the gateway
# records values that it reads for other reasons.
# A step without a read has observed: false.
query ScanHistory {
  qrCodes(first: 3) {
    nodes {
      name
      scanHistory(step: DAY, last: 7) {
        at
        value
        observed
      }
    }
  }
  totalCountHistory(list: QR_CODES, step: HOUR, last: 3) {
    at
    value
    observed
  }
}
`;

const planUsage = `# How much of the plan is used.
# Costs 7 upstream requests: the account, its user, all
# plans, and 1 for each of four lists. The API key must
# belong to an administrator.
query PlanUsage {
  account {
    plan {
      name
    }
    usage {
      feature
      used
      limit
    }
  }
}
`;

const reverseEdges = `# From a row back to what refers to it. Costs 3 upstream
# requests: the plans, all users once for all of them,
# and the QR codes. cachedOnly sends none.
query ReverseEdges {
  plans {
    name
    userCount
    users(first: 2) {
      nodes {
        username
      }
    }
  }
  qrCodes(first: 3) {
    nodes {
      name
      channels(cachedOnly: true) {
        complete
        nodes {
          name
        }
      }
    }
  }
}
`;

const storefront = `# The marketplace has a rate limit of its own.
query Storefront {
  seller {
    fullName
    balance
    currency
  }
  items(first: 8) {
    totalCount
    nodes {
      id
      name
      category
      price {
        regular
        extended
      }
      currency
      media {
        kind
        thumbnail
      }
    }
  }
}
`;

const purchase = `# Is this purchase code valid, and for what?
# An unknown code returns null, not an error.
query Purchase($code: String!) {
  purchase(code: $code) {
    licenseType
    supportedUntil
    downloaded
    item {
      name
      version
      tags
    }
  }
}
`;

const newCampaign = `# Returns the new campaign, or the reason for the rejection. Try a blank name.
mutation NewCampaign($input: CreateCampaignInput!) {
  createCampaign(input: $input) {
    __typename
    ... on Campaign {
      id
      name
      rotatorUrl
    }
    ... on InvalidInput {
      issues {
        path
        code
        params
        message
      }
    }
    ... on Rejected {
      message
    }
  }
}
`;

const newQrCode = `# Costs 1 upstream request, plus 1 for createdAt, which only the list of QR codes contains.
mutation NewQrCode {
  createQrCode(
    input: { type: LINK, data: { value: "https://example.com/menu" }, name: "Menu" }
  ) {
    __typename
    ... on QrCode {
      id
      name
      link
      createdAt
    }
    ... on Error {
      message
    }
  }
}
`;

const newPixel = `# Invalidates the cached lists of pixels, so the next read includes the new pixel.
# With the same key, a second run creates no pixel and costs no upstream request.
mutation NewPixel {
  createPixel(input: { type: GA, name: "Shop", tag: "G-4R7W2K9QXN" })
    @idempotent(key: "pixel-of-the-shop") {
    __typename
    ... on Pixel {
      id
      type
      name
    }
    ... on Error {
      message
    }
  }
}
`;

const liveCampaigns = `# @live keeps the response current. Open this page again, run NewCampaign there, and watch this one.
query LiveCampaigns @live {
  campaigns(first: 5) {
    totalCount
    nodes {
      name
      rotatorUrl
    }
  }
}
`;

const deferred = `# @defer: the response contains the codes first.
# Their statistics follow as they arrive.
query Deferred {
  qrCodes(first: 2) {
    nodes {
      name
      scans
      ... @defer {
        statistics {
          clicks
          uniqueClicks
        }
      }
    }
  }
}
`;

const startExport = `# A job reads a list and the lists in its items to their ends,
# from slots of the rate limit that others leave. Run it, then
# Jobs. The file is at the path in url.
mutation Export($input: StartExportInput!) {
  startExport(input: $input) {
    __typename
    ... on Job {
      id
      state
      url
    }
    ... on InvalidInput {
      message
    }
  }
}
`;

/** What the example exports. */
const allCodes = '{ qrCodes { nodes { id name scans createdAt } } }';

const jobs = `# Progress, current while it is open. Costs no upstream
# request. For one job: job(id: "…") { … }
query Jobs @live {
  jobs(first: 3) {
    nodes {
      id
      name
      state
      rowsDone
      rowsTotal
      callsSpent
      callsLeft
      readyAt
      url
    }
  }
}
`;

const upload = `# Choose a file below Run. The response contains its short link.
mutation Upload($input: UploadFileInput!) {
  uploadFile(input: $input) {
    __typename
    ... on File {
      id
      shortUrl
    }
    ... on Error {
      message
    }
  }
}
`;

/**
 * What GraphiQL's tabs show on a first visit, in their order. `purchaseCode` is one that the marketplace
 * knows: its sandbox can promise that; for a real one, it is the reader who has to put a code there.
 */
export function exampleOperations(purchaseCode = 'a purchase code of yours'): readonly Example[] {
  return [
    { query: dashboard },
    { query: channel },
    { query: qrStatistics },
    { query: qrCodeTable },
    { query: scanHistory },
    { query: reverseEdges },
    { query: planUsage },
    { query: storefront },
    { query: purchase, variables: { code: purchaseCode } },
    { query: newCampaign, variables: { input: { name: 'Winter sale', public: true } } },
    { query: newQrCode },
    { query: newPixel },
    { query: liveCampaigns },
    { query: deferred },
    { query: startExport, variables: { input: { query: allCodes } } },
    { query: jobs },
    { query: upload },
  ];
}
