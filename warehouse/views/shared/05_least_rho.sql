-- The smallest Spearman's rho that at most 2.5 % of random orders of n models without ties reach: exact below ten,
-- at most 0.005 too high above. NULL below five models, where even the same order is more frequent than that.
CREATE OR REPLACE MACRO least_rho(n) AS CASE n WHEN 5 THEN 1.0 WHEN 6 THEN 31 / 35 WHEN 7 THEN 11 / 14 WHEN 8 THEN 31 / 42
    WHEN 9 THEN 0.7 ELSE if(n < 5, NULL, 1.959964 / sqrt(n - 1)) END;
